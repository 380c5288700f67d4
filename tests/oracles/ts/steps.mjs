// An official client goes through steps on several servers: node steps.mjs 1|2|auto|DATE '[[TARGET, [[METHOD, PARAMS], …]], …]' [TOKEN]
// TARGET is a URL, or a list of a command and its arguments; DATE is the one revision that a client of 2.x speaks. Prints
// for each server the revision, and an outcome for each step; nothing is judged here.
import { attempt, overhearVersion, transportTo } from './transport.mjs';

const [which, plan, ...token] = process.argv.slice(2);
const is1 = which === '1';
const { Client } = await import(is1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { z } = await import('zod');
const { ResultSchema } = is1 ? await import('@modelcontextprotocol/sdk/types.js') : { ResultSchema: z.looseObject({}) };

const TYPED = {
  'tools/list': (client, params) => client.listTools(params),
  'tools/call': (client, params) => client.callTool(params),
  'prompts/list': (client, params) => client.listPrompts(params),
  'prompts/get': (client, params) => client.getPrompt(params),
  'resources/list': (client, params) => client.listResources(params),
  'resources/read': (client, params) => client.readResource(params),
};

const options =
  which === 'auto' ? { versionNegotiation: { mode: 'auto' } }
  : which.startsWith('20') ? { supportedProtocolVersions: [which] }
  : {};

async function go(target, steps) {
  const client = new Client({ name: 'judge', version: '1' }, options);
  const problems = [];
  client.onerror = error => problems.push(String(error));
  const transport = await transportTo(is1 ? 1 : 2, ...[target].flat(), ...token);
  const heard = overhearVersion(transport);
  await client.connect(transport);
  const outcomes = [];
  let lastTask = '';
  for (const [method, given] of steps) {
    const params = JSON.parse(JSON.stringify(given).replaceAll('LAST_TASK', lastTask));
    // A client does not ask for what a server has not declared, so that is sent past its typed methods.
    const isDeclared = client.getServerCapabilities()[method.split('/')[0]];
    const typed = isDeclared && TYPED[method];
    outcomes.push(await attempt(() => (typed ? typed(client, params) : client.request({ method, params }, ResultSchema))));
    const text = outcomes.at(-1).result?.content?.[0]?.text ?? ''; // which has it in every revision
    lastTask = /"task": ?\{"id": ?"([^"]+)"/.exec(text)?.[1] ?? lastTask;
  }
  const version = is1 ? heard.version : client.getNegotiatedProtocolVersion();
  const before = [...problems]; // and none for the streams that closing cuts off
  await client.close();
  return { version, outcomes, problems: before };
}

const seen = [];
for (const [target, steps] of JSON.parse(plan)) seen.push(await go(target, steps));
console.log(JSON.stringify(seen));
