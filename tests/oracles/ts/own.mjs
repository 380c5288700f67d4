// An official client goes through a day with Satchel: node own.mjs 1|2|auto '[[METHOD, PARAMS], …]' COMMAND [ARGUMENT…]|URL
// Prints the revision and an outcome for each step; as in conversation.mjs, nothing is judged here.
import { attempt } from './conversation.mjs';
import { overhearVersion, transportTo } from './transport.mjs';

const [which, steps, ...server] = process.argv.slice(2);
const is1 = which === '1';
const { Client } = await import(is1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const options = which === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {};
const client = new Client({ name: 'judge', version: '1' }, options);
const problems = [];
client.onerror = error => problems.push(String(error));

const TYPED = {
  'tools/list': params => client.listTools(params),
  'tools/call': params => client.callTool(params),
  'prompts/list': params => client.listPrompts(params),
  'prompts/get': params => client.getPrompt(params),
  'resources/list': params => client.listResources(params),
  'resources/templates/list': params => client.listResourceTemplates(params),
  'resources/read': params => client.readResource(params),
  'completion/complete': params => client.complete(params),
};

const transport = await transportTo(is1 ? 1 : 2, ...server);
const heard = overhearVersion(transport);
await client.connect(transport);
const outcomes = [];
for (const [method, params] of JSON.parse(steps)) outcomes.push(await attempt(() => TYPED[method](params)));
const version = is1 ? heard.version : client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ version, outcomes, problems }));
