// The flags of Node for every process of a machine. Large bodies leave buffers outside the heap, which only a frequent small collection
// gives back in time: with the default of 16 MB they cost two and a half times as much, and with 1 MB small calls cost a fifth more.
export const NODE_FLAGS = ['--max-semi-space-size=2', '--v8-pool-size=1'] as const;
