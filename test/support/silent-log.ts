import type { Log } from '../../src/core/log.ts';

const ignore = () => undefined;

export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };
