// The 1.x client and the `mcpkg` contract: node mcpkg1.mjs COMMAND [ARGUMENT…]|URL [TOKEN]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { report } from './conversation.mjs';
import { converse } from './mcpkg.mjs';
import { overhearVersion, transportTo } from './transport.mjs';

const client = new Client({ name: 'judge', version: '1' });
const transport = await transportTo(1, ...process.argv.slice(2));
const heard = overhearVersion(transport);

const describe = () => ({
  version: heard.version,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
});
const request = (method, params) => client.request({ method, params }, ResultSchema);

await report(client, transport, describe, () => converse(client, request));
