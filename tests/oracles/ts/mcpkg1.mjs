// The 1.x client and the `mcpkg` contract: node mcpkg1.mjs COMMAND [ARGUMENT…]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { report } from './conversation.mjs';
import { converse } from './mcpkg.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'judge', version: '1' });
const transport = new StdioClientTransport({ command, args });
// As in sdk1.mjs: only a transport is told the revision.
let version;
transport.setProtocolVersion = agreed => (version = agreed);

const describe = () => ({
  version,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
});
const request = (method, params) => client.request({ method, params }, ResultSchema);

await report(client, transport, describe, () => converse(client, request));
