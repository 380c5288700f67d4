// The conversation that every official client has with a `prompt-store` server on an empty store. Nothing is judged
// here: each answer, or the error in its place, goes into one JSON document that the tests in Python compare.

// All that JSON allows inside one line but that careless line splitting would tear apart.
const AWKWARD = 'Bonjour \u{1F44B}\r\nnext\u2028line\u2029and\u0085more "quotes" \\ tab\t.';

export async function attempt(action) {
  try {
    return { result: (await action()) ?? null };
  } catch (error) {
    const { name, code, message, data } = error;
    return { error: { kind: name, code, message, data } };
  }
}

// A result carries its body as text in every revision, as `structuredContent` only since 2025-06-18.
const body = outcome => JSON.parse(outcome.result.content[0].text);

// The two lines of clients differ in the shape of two functions: `callTool(params, options)`, and `request(method,
// params)`, which sends anything at all past the client's typed methods.
export async function converse(client, callTool, request) {
  const call = (name, args, options) => attempt(() => callTool({ name, arguments: args }, options));
  const seen = { tools: await attempt(() => client.listTools()) };

  seen.added = await call('add_prompt', {
    title: 'Code Review Assistant',
    content: 'You are a code reviewer. Look for bugs.',
    tags: ['review', 'Coding'],
  });
  const { id } = body(seen.added);

  seen.awkward = await call('add_prompt', { title: 'Awkward', content: AWKWARD });
  seen.awkwardRead = await call('get_prompt', { id: body(seen.awkward).id });
  seen.awkwardContent = AWKWARD;

  seen.got = await call('get_prompt', { id });
  seen.listed = await call('list_prompts', {});
  seen.searched = await call('search_prompts', { query: 'REVIEWER' });
  seen.filtered = await call('filter_by_tags', { tags: ['CODING', 'nothing'] });
  seen.tags = await call('list_tags');
  seen.pages = [
    await call('list_prompts', { limit: 1 }),
    await call('list_prompts', { limit: 1, offset: 1 }),
    await call('list_prompts', { limit: 1, offset: 2 }),
  ];

  seen.duplicate = await call('add_prompt', { title: 'Awkward', content: 'x' });
  seen.invalidTag = await call('add_prompt', { title: 'New', content: 'x', tags: ['invalid tag!'] });
  seen.missingArgument = await call('add_prompt', { title: 'New' });
  seen.notFound = await call('get_prompt', { id: '550e8400-e29b-41d4-a716-446655440000' });

  seen.unknownTool = await call('nope', {});
  seen.unknownMethods = {
    'prompts/list': await attempt(() => request('prompts/list', {})),
    'satchel/nope': await attempt(() => request('satchel/nope', {})),
  };
  seen.unknownCursor = await attempt(() => client.listTools({ cursor: 'nope' }));
  seen.namelessCall = await attempt(() => request('tools/call', {}));
  seen.listAsArguments = await attempt(() => request('tools/call', { name: 'list_tags', arguments: [] }));
  seen.ping = await attempt(() => client.ping());

  // A progress token travels in `_meta`, the place where the newer generation names its revision.
  seen.withProgress = await call('list_tags', {}, { onprogress: () => {} });

  const titles = ['One', 'Two', 'Three', 'Four', 'Five'];
  seen.pipelined = await Promise.all(titles.map(title => call('add_prompt', { title, content: title })));
  seen.updated = await call('update_prompt', { id, title: 'Reviewer', content: 'Look for bugs.' });
  seen.gotUpdated = await call('get_prompt', { id });
  seen.deleted = await call('delete_prompt', { id });
  seen.listedAtLast = await call('list_prompts', {});
  return seen;
}

// Connects, runs the conversation and prints the document. `describe` tells what the client learnt on connecting.
export async function report(client, transport, describe, discuss) {
  const problems = [];
  client.onerror = error => problems.push(String(error));
  await client.connect(transport);
  // On closing, a transport over stdio gives the server two seconds to leave by itself, then kills it, and never tells which.
  const server = transport._process;
  const seen = { ...describe(), ...(await discuss()) };
  await client.close();
  const exit = server && [server.exitCode, server.signalCode];
  console.log(JSON.stringify({ ...seen, problems, exit }));
}
