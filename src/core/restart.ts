// How a daemon asks whatever started it to start it again at once, which is no failure and no end of its work.

/** EX_TEMPFAIL of sysexits(3). The unit of the agent counts it as a success. */
export const RESTART_EXIT_CODE = 75;

/** A file in its state directory: what it leaves to the next process, which takes it. There is none while it runs. */
export const RESTART_FILE = 'restart.json';
