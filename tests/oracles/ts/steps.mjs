// An official client goes through steps on several servers: node steps.mjs 1|2|auto '[[URL, [[METHOD, PARAMS], …]], …]' [TOKEN]
// Prints for each server the revision, and an outcome for each step; as in conversation.mjs, nothing is judged here.
import { attempt } from './conversation.mjs';
import { overhearVersion, transportTo } from './transport.mjs';

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

async function go(url, steps) {
  const client = new Client(
    { name: 'judge', version: '1' },
    which === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  const problems = [];
  client.onerror = error => problems.push(String(error));
  const transport = await transportTo(is1 ? 1 : 2, url, ...token);
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
    lastTask = outcomes.at(-1).result?.structuredContent?.task?.id ?? lastTask;
  }
  const version = is1 ? heard.version : client.getNegotiatedProtocolVersion();
  const before = [...problems]; // and none for the streams that closing cuts off
  await client.close();
  return { version, outcomes, problems: before };
}

const seen = [];
for (const [url, steps] of JSON.parse(plan)) seen.push(await go(url, steps));
console.log(JSON.stringify(seen));
