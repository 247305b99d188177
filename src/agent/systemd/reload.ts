// Reads the settings again while the agent runs, uses those that can be changed, and says in the log which need a restart. Settings that
// cannot be used change nothing.
import { toErrorMessage } from '../../core/error-message.ts';
import type { LeveledLog } from '../agent-log.ts';
import { ENVIRONMENT_FILE, readEnvironmentFile, toPresentVariables } from '../config/environment-file.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { Config } from '../config/load-config.ts';

export interface ReloadOptions {
  /** The environment of this process. It gets the variables of the file, for the next program of this process. */
  readonly env: NodeJS.ProcessEnv;
  readonly live: LiveConfig;
  /** Throws when the settings cannot be used. */
  readonly read: (variables: NodeJS.ProcessEnv) => Config;
  readonly log: LeveledLog;
  /** Called after each time, with the fault when nothing was changed. */
  readonly note: (fault?: string) => void;
}

/** It is taken out of the environment at the start, and stays what it was then. */
const TOKEN = 'REMORA_TOKEN';

/** Never throws. */
export function createReload({ env, live, read, log, note }: ReloadOptions): () => void {
  const path = env[ENVIRONMENT_FILE];
  let before = readOrNone(path);

  function reload(): void {
    const now = readEnvironmentFile(path);
    const { changed, kept } = live.take(read(toPresentVariables(env, before, now)));
    for (const name of Object.keys(before)) delete env[name];
    for (const [name, value] of Object.entries(now)) if (name !== TOKEN) env[name] = value;
    before = now;
    log.level = live.config.logLevel;
    log.info({ changed, warnings: live.config.warnings }, 'the settings were read again');
    if (kept.length > 0)
      log.warn({ settings: kept }, 'these settings were changed and need a restart: systemctl restart remora');
    note();
  }

  return () => {
    try {
      reload();
    } catch (error) {
      log.error({ err: error }, 'the settings were read again and cannot be used; the earlier ones are used');
      note(toErrorMessage(error));
    }
  };
}

/** A file that cannot be read is systemd's to report at the start. */
function readOrNone(path: string | undefined): ReturnType<typeof readEnvironmentFile> {
  try {
    return readEnvironmentFile(path);
  } catch {
    return {};
  }
}
