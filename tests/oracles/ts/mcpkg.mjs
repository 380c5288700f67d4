// The conversation that every official client has with a `mcpkg` server on a project of one prompt, one text resource
// and one binary resource. As in conversation.mjs, nothing is judged here. What is there is read and sent back as a
// copy, so that the tests know every content without this file knowing any.
import { attempt } from './conversation.mjs';

const PROMPT = 'ecole-braces';
const TEXT = 'file:///docs/notes.md';
const BINARY = 'file:///blob.bin';
const TEXT_COPY = 'copies://desk/text?of=notes.md#1';
const BINARY_COPY = 'file:///copy.png';

// Each of these is refused, and leaves everything as it is.
const REFUSED = [
  ['create_prompt', { name: 'copy', content: 'x' }],
  ['create_prompt', { name: PROMPT, content: 'x' }],
  ['create_prompt', { name: 'test prompt', content: 'x' }],
  ['create_prompt', { name: '', content: 'x' }],
  ['create_prompt', { name: 'empty', content: '' }],
  ['create_prompt', { name: 'no-content' }],
  ['create_prompt', { name: 5, content: 'x' }],
  ['create_prompt'],
  ['update_prompt', { name: 'nope', content: 'x' }],
  ['update_prompt', { name: 'copy' }],
  ['delete_prompt', { name: 'nope' }],
  ['create_resource', { name: 'copy-text', uri: 'x:new', content: 'x' }],
  ['create_resource', { name: 'new', uri: TEXT_COPY, content: 'x' }],
  ['create_resource', { name: 'new', uri: 'no scheme', content: 'x' }],
  ['create_resource', { name: 'new', uri: 'x:new', content: 'x', mime_type: 'png' }],
  ['create_resource', { name: 'new', uri: 'x:new', content: 'not base64!', mime_type: 'image/png' }],
  ['create_resource', { name: 'new one', uri: 'x:new', content: 'x' }],
  ['create_resource', { name: 'new', content: 'x' }],
  ['update_resource', { name: 'nope', content: 'x' }],
  ['update_resource', { name: 'copy-text' }],
  ['update_resource', { name: 'copy-text', mime_type: 'image/png' }],
  ['update_resource', { name: 'copy-binary', mime_type: 'text/plain' }],
  ['delete_resource', { name: 'nope' }],
];

// `request(method, params)` sends anything at all past the client's typed methods.
export async function converse(client, request) {
  const call = (name, args) => attempt(() => client.callTool({ name, arguments: args }));
  const get = (name, args) => attempt(() => client.getPrompt({ name, arguments: args }));
  const read = uri => attempt(() => client.readResource({ uri }));
  const lists = async () => ({
    prompts: await attempt(() => client.listPrompts()),
    resources: await attempt(() => client.listResources()),
  });

  const seen = { tools: await attempt(() => client.listTools()), before: await lists() };
  seen.templates = await attempt(() => client.listResourceTemplates());
  seen.prompt = await get(PROMPT);
  seen.promptWithArguments = await get(PROMPT, { braces: 'filled' });
  seen.text = await read(TEXT);
  seen.binary = await read(BINARY);

  const [{ text }] = seen.text.result.contents;
  const [{ blob }] = seen.binary.result.contents;
  const content = seen.prompt.result.messages[0].content.text;
  seen.created = [
    await call('create_prompt', { name: 'copy', content, description: 'A {{ copy }}' }),
    await call('create_resource', { name: 'copy-text', uri: TEXT_COPY, content: text }),
    await call('create_resource', {
      name: 'copy-binary',
      uri: BINARY_COPY,
      content: blob,
      mime_type: 'image/png',
      description: 'A copy',
    }),
  ];
  seen.copies = { prompt: await get('copy'), text: await read(TEXT_COPY), binary: await read(BINARY_COPY) };

  seen.refused = [];
  for (const [name, args] of REFUSED) seen.refused.push(await call(name, args));
  seen.between = await lists();

  seen.updated = [
    await call('update_prompt', { name: 'copy', content: 'Shorter.', description: '' }),
    await call('update_resource', { name: 'copy-text', content: '{"a": 1}', mime_type: 'application/json' }),
    await call('update_resource', { name: 'copy-binary', content: 'AAEC/w==', description: 'Four bytes' }),
  ];
  // All at once: answers come back to the question that they belong to.
  const [prompt, changedText, binary] = await Promise.all([get('copy'), read(TEXT_COPY), read(BINARY_COPY)]);
  seen.changed = { prompt, text: changedText, binary };
  seen.after = await lists();

  seen.deleted = [
    await call('delete_prompt', { name: 'copy' }),
    await call('delete_resource', { name: 'copy-text' }),
    await call('delete_resource', { name: 'copy-binary' }),
  ];
  seen.gone = { prompt: await get('copy'), text: await read(TEXT_COPY), binary: await read(BINARY_COPY) };
  seen.atLast = await lists();

  seen.unknownTool = await call('add_prompt', {});
  const ref = { type: 'ref/prompt', name: PROMPT };
  const completion = { ref, argument: { name: 'braces', value: 'f' } };
  seen.unknownMethods = {
    'client.complete': await attempt(() => client.complete(completion)),
    'completion/complete': await attempt(() => request('completion/complete', completion)),
    'satchel/nope': await attempt(() => request('satchel/nope', {})),
  };
  const cursor = 'nope';
  seen.unknownCursors = [
    await attempt(() => client.listTools({ cursor })),
    await attempt(() => client.listPrompts({ cursor })),
    await attempt(() => client.listResources({ cursor })),
    await attempt(() => client.listResourceTemplates({ cursor })),
  ];
  seen.nameless = await attempt(() => request('prompts/get', {}));
  seen.uriless = await attempt(() => request('resources/read', {}));
  return seen;
}
