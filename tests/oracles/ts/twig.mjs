// An official client and the `twig` contract: node twig.mjs 1|2|auto FILE COMMAND [ARGUMENT…]|URL [TOKEN]. Lists, gets,
// and hears of the change that it makes to FILE while it listens; as in conversation.mjs, nothing is judged here.
import { readFileSync, writeFileSync } from 'node:fs';

import { attempt, report } from './conversation.mjs';
import { transportTo } from './transport.mjs';

const [which, change, ...server] = process.argv.slice(2);
const is1 = which === '1';
const { Client } = await import(is1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const options = which === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {};
const client = new Client({ name: 'judge', version: '1' }, options);
const transport = await transportTo(is1 ? 1 : 2, ...server);

let heard;
const told = new Promise(resolve => (heard = resolve));
const pause = ms => new Promise(resolve => setTimeout(() => resolve('silence'), ms));
const get = (name, args) => attempt(() => client.getPrompt({ name, arguments: args }));

async function converse() {
  const seen = {
    listed: await attempt(() => client.listPrompts()),
    got: await get('everyday:commit_message', { diff: '{{ 7 * 7 }}', ticket: 'T-1' }),
    missing: await get('everyday:commit_message', {}),
    unknown: await get('everyday:nope', {}),
  };
  if (which !== 'auto') {
    const { PromptListChangedNotificationSchema: schema } = is1 ? await import('@modelcontextprotocol/sdk/types.js') : {};
    client.setNotificationHandler(schema ?? 'notifications/prompts/list_changed', () => heard('told'));
  } else {
    client.setNotificationHandler('notifications/prompts/list_changed', () => heard('told'));
    await client.listen({ promptsListChanged: true });
  }
  // Nothing tells when a stream is open, and who is not there yet misses a change: so there may be several, to and fro.
  const texts = ['[prompts.only]\n', readFileSync(change)];
  for (let turn = 0; turn < 5 && seen.heard !== 'told'; turn++) {
    await pause(1500);
    writeFileSync(change, texts[turn % 2]);
    seen.heard = await Promise.race([told, pause(2000)]);
  }
  return seen;
}

await report(client, transport, () => ({}), converse);
