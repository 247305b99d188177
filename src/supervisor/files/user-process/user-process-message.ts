// What the supervisor and its process for the files of a user say to each other outside of HTTP.

/** Its argument. */
export interface UserProcessOptions {
  /** Absolute path of the socket that it makes. */
  readonly socket: string;
  readonly user: { readonly name: string; readonly uid: number; readonly gid: number };
}

/** What it sends. `ready`: it serves, and is root no more. */
export type UserProcessMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'log'; readonly message: string };
