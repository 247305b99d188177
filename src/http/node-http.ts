// node:http without its facade for ES modules. The facade reads every export once, and two of them load a second HTTP client
// and a WebSocket that Remora does not use, which makes each start 30 ms slower.
export const nodeHttp = process.getBuiltinModule('node:http');
