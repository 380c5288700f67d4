// An official client goes through a day with Satchel: node own.mjs 1|2|auto '[[METHOD, PARAMS], …]' COMMAND [ARGUMENT…]|URL
// Prints the revision, an outcome for each step, and whether it heard of a prompt that a second client added; nothing
// is judged here.
import { attempt, overhearVersion, transportTo } from './transport.mjs';

const [which, steps, ...server] = process.argv.slice(2);
const is1 = which === '1';
const { Client } = await import(is1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const CHANGED = is1
  ? (await import('@modelcontextprotocol/sdk/types.js')).PromptListChangedNotificationSchema
  : 'notifications/prompts/list_changed';

const problems = [];

async function connect() {
  const client = new Client(
    { name: 'judge', version: '1' },
    which === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  client.onerror = error => problems.push(String(error));
  const transport = await transportTo(is1 ? 1 : 2, ...server);
  const heard = overhearVersion(transport);
  await client.connect(transport);
  return { client, version: is1 ? heard.version : client.getNegotiatedProtocolVersion() };
}

const TYPED = {
  'tools/list': (client, params) => client.listTools(params),
  'tools/call': (client, params) => client.callTool(params),
  'prompts/list': (client, params) => client.listPrompts(params),
  'prompts/get': (client, params) => client.getPrompt(params),
  'resources/list': (client, params) => client.listResources(params),
  'resources/templates/list': (client, params) => client.listResourceTemplates(params),
  'resources/read': (client, params) => client.readResource(params),
  'completion/complete': (client, params) => client.complete(params),
};

const pause = ms => new Promise(resolve => setTimeout(() => resolve('silence'), ms));

async function hear(listening, other) {
  const told = new Promise(resolve => listening.setNotificationHandler(CHANGED, () => resolve('told')));
  if (which === 'auto') await listening.listen({ promptsListChanged: true });
  await pause(500);
  await other.callTool({ name: 'add_prompt', arguments: { title: 'From the other', content: 'Hello' } });
  let heard = await Promise.race([told, pause(2000)]);
  // Nothing tells when a stream is open, and who is not there yet misses a change: so there may be several.
  for (let turn = 0; turn < 5 && heard !== 'told'; turn++) {
    await other.callTool({ name: 'update_prompt', arguments: { prompt: 'from-the-other', title: `Turn ${turn}` } });
    heard = await Promise.race([told, pause(2000)]);
  }
  const { prompts } = await listening.listPrompts();
  return { heard, names: prompts.map(prompt => prompt.name) };
}

const { client, version } = await connect();
const outcomes = [];
for (const [method, params] of JSON.parse(steps)) outcomes.push(await attempt(() => TYPED[method](client, params)));
const { client: other } = await connect();
const meeting = await hear(client, other);
await other.close();
await client.close();
console.log(JSON.stringify({ version, outcomes, meeting, problems }));
