// What the parts of agent and platform write their log with. The loggers themselves are made where a process starts.

/** A line is what it is about, as fields, and then what happened. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** The process ends after it. */
  fatal(fields: object, message: string): void;
}
