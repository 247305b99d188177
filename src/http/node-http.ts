// node:http without its front for ES modules: that one reads every export once, and two of them load a second HTTP client and a
// WebSocket that nobody here uses, which makes each start 30 ms slower.
export const nodeHttp = process.getBuiltinModule('node:http');
