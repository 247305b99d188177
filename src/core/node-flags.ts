// The flags of Node for every process of a machine. Large bodies leave buffers outside the heap, which only a frequent small collection
// gives back in time: with the default of 16 MB they cost two and a half times as much, and with 1 MB small calls cost a fifth more.
// V8 counts these buffers when it decides on a full collection: a small heap would have one of them for each ten megabytes of a
// transfer, which then takes twice the time. So the heap may double before. Calls of the C library are new in Node, which would say so
// in the log at each start.
export const NODE_FLAGS = [
  '--max-semi-space-size=2',
  '--v8-pool-size=1',
  '--heap-growing-percent=100',
  '--disable-warning=ExperimentalWarning',
] as const;
