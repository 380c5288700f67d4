// The 1.x client: node sdk1.mjs COMMAND [ARGUMENT…]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { converse, report } from './conversation.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'judge', version: '1' });
const transport = new StdioClientTransport({ command, args });
// This client keeps the revision to itself and tells only its transport, as an HTTP transport has to know.
let version;
transport.setProtocolVersion = agreed => (version = agreed);

const describe = () => ({
  version,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
});
const callTool = (params, options) => client.callTool(params, undefined, options);
const request = (method, params) => client.request({ method, params }, ResultSchema);

await report(client, transport, describe, () => converse(client, callTool, request));
