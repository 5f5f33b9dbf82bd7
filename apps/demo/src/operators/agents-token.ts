import { randomBytes } from 'node:crypto';

/** What agents send to the MCP server. Without `DEMO_MCP_TOKEN` it is new for each start, and printed. */
export const agentsToken = process.env.DEMO_MCP_TOKEN || randomBytes(24).toString('hex');
