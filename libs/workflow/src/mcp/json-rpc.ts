/** Codes of JSON-RPC errors; `REFUSED` is the first of those that a server defines for itself, as the SDK's transport has it. */
const CODES = { PARSE_ERROR: -32700, INVALID_REQUEST: -32600, INTERNAL_ERROR: -32603, REFUSED: -32000 } as const;

/** An error about a request as a whole: whose id is not known, or does not matter. */
export function rpcError(code: keyof typeof CODES, message: string) {
  return { jsonrpc: '2.0', error: { code: CODES[code], message }, id: null } as const;
}
