// An official client and the `twig` contract: node twig.mjs 1|2|auto FILE COMMAND [ARGUMENT…]|URL [TOKEN]. Prints whether
// it hears of the change that it makes to FILE while it listens.
import { readFileSync, writeFileSync } from 'node:fs';

import { transportTo } from './transport.mjs';

const [which, change, ...server] = process.argv.slice(2);
const is1 = which === '1';
const { Client } = await import(is1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const CHANGED = is1
  ? (await import('@modelcontextprotocol/sdk/types.js')).PromptListChangedNotificationSchema
  : 'notifications/prompts/list_changed';
const options = which === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {};
const client = new Client({ name: 'judge', version: '1' }, options);
await client.connect(await transportTo(is1 ? 1 : 2, ...server));

const pause = ms => new Promise(resolve => setTimeout(() => resolve('silence'), ms));
await client.listPrompts();
const told = new Promise(resolve => client.setNotificationHandler(CHANGED, () => resolve('told')));
if (which === 'auto') await client.listen({ promptsListChanged: true });
// Nothing tells when a stream is open, and who is not there yet misses a change: so there may be several, to and fro.
const texts = ['[prompts.only]\n', readFileSync(change)];
let heard;
for (let turn = 0; turn < 5 && heard !== 'told'; turn++) {
  await pause(1500);
  writeFileSync(change, texts[turn % 2]);
  heard = await Promise.race([told, pause(2000)]);
}
await client.close();
console.log(heard);
