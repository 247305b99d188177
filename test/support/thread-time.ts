// How long this thread has been running: what other processes and threads do meanwhile does not count.

/** Milliseconds of processor time that `work` takes here. */
export function threadTime_ms(work: () => unknown): number {
  const begun_us = now_us();
  work();
  return (now_us() - begun_us) / 1_000;
}

function now_us(): number {
  // Linux brings the time of the running thread up to date only when the whole process is asked for its own.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
