// The way to a server: COMMAND [ARGUMENT…] starts one of our own on stdio, URL [TOKEN] goes to one that runs.
export async function transportTo(line, target, ...rest) {
  const is1 = line === 1;
  if (!target.startsWith('http://')) {
    const { StdioClientTransport } = await import(
      is1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio'
    );
    return new StdioClientTransport({ command: target, args: rest });
  }
  const { StreamableHTTPClientTransport } = await import(
    is1 ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client'
  );
  const headers = rest.length ? { Authorization: `Bearer ${rest[0]}` } : {};
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
}

// The 1.x client keeps the revision to itself and tells only its transport, as an HTTP transport has to know.
export function overhearVersion(transport) {
  const tell = transport.setProtocolVersion?.bind(transport);
  const heard = {};
  transport.setProtocolVersion = agreed => {
    heard.version = agreed;
    tell?.(agreed);
  };
  return heard;
}

export async function attempt(action) {
  try {
    return { result: (await action()) ?? null };
  } catch (error) {
    const { name, code, message, data } = error;
    return { error: { kind: name, code, message, data } };
  }
}
