// File operations of a sprite (Sandbox API, File operation records; the paths are those of the Sprites API).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { queryBoolean } from './query-values.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

const size = z.int().nonnegative();
const common = { workingDir: z.string(), asRoot: z.boolean() };

export const fileEntry = z.object({
  name: z.string(),
  path: z.string(),
  type: z.string(),
  size,
  mode: z.string(),
  modTime: dateTime,
  isDir: z.boolean(),
});
export type FileEntry = z.infer<typeof fileEntry>;

export const fileListResponse = z.object({ path: z.string(), entries: z.array(fileEntry), count: size });
export type FileListResponse = z.infer<typeof fileListResponse>;

export const writeResponse = z.object({ path: z.string(), size, mode: z.string() });
export type WriteResponse = z.infer<typeof writeResponse>;

export const chmodRequest = z.object({ path: z.string(), mode: z.string(), recursive: z.boolean(), ...common });
export type ChmodRequest = z.infer<typeof chmodRequest>;

export const chmodResult = z.object({ path: z.string(), mode: z.string() });
export type ChmodResult = z.infer<typeof chmodResult>;

export const chmodResponse = z.object({ affected: z.array(chmodResult), count: size });
export type ChmodResponse = z.infer<typeof chmodResponse>;

/**
 * A user or a group: a number or a name. The Sandbox API only says "typed as object"
 * (DECISIONS.md, "Uid and gid of a chown request").
 */
export const fileOwner = z.union([z.int().nonnegative(), z.string().min(1), z.record(z.string(), z.unknown())]);
export type FileOwner = z.infer<typeof fileOwner>;

export const chownRequest = z.object({
  path: z.string(),
  uid: fileOwner,
  gid: fileOwner,
  recursive: z.boolean(),
  ...common,
});
export type ChownRequest = z.infer<typeof chownRequest>;

export const chownResult = z.object({ path: z.string(), uid: z.int(), gid: z.int() });
export type ChownResult = z.infer<typeof chownResult>;

export const chownResponse = z.object({ affected: z.array(chownResult), count: size });
export type ChownResponse = z.infer<typeof chownResponse>;

/** Sent as a query, so that the boolean arrives as text. */
export const deleteRequest = z.object({
  path: z.string(),
  workingDir: z.string(),
  recursive: queryBoolean(),
  asRoot: queryBoolean(),
});
export type DeleteRequest = z.infer<typeof deleteRequest>;

export const deleteResponse = z.object({ deleted: z.array(z.string()), count: size });
export type DeleteResponse = z.infer<typeof deleteResponse>;

export const copyRequest = z.object({
  source: z.string(),
  dest: z.string(),
  recursive: z.boolean(),
  preserveAttrs: z.boolean(),
  ...common,
});
export type CopyRequest = z.infer<typeof copyRequest>;

export const copyResult = z.object({ source: z.string(), dest: z.string() });
export type CopyResult = z.infer<typeof copyResult>;

export const copyResponse = z.object({ copied: z.array(copyResult), count: size, totalBytes: size });
export type CopyResponse = z.infer<typeof copyResponse>;

export const renameRequest = z.object({ source: z.string(), dest: z.string(), ...common });
export type RenameRequest = z.infer<typeof renameRequest>;

export const renameResponse = z.object({ source: z.string(), dest: z.string() });
export type RenameResponse = z.infer<typeof renameResponse>;

/** The body of a refused file operation, which also carries the system's error code and the path. */
export const fileError = z.object({ error: z.string(), code: z.string(), path: z.string() });
export type FileError = z.infer<typeof fileError>;

const where = { path: z.string(), workingDir: z.string(), asRoot: queryBoolean().default(false) };

/** Sent as a query. */
export const readFileRequest = z.object(where);
export type ReadFileRequest = z.infer<typeof readFileRequest>;

/** Sent as a query; the body is the content of the file. `mode` is octal. */
export const writeFileRequest = z.object({
  ...where,
  mkdirParents: queryBoolean().default(false),
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/)
    .optional(),
});
export type WriteFileRequest = z.infer<typeof writeFileRequest>;

/** Sent as a query. */
export const listFilesRequest = z.object({
  ...where,
  recursive: queryBoolean().default(false),
  pattern: z.string().optional(),
});
export type ListFilesRequest = z.infer<typeof listFilesRequest>;

const shared = {
  source: 'Sandbox API, File operation records; Sprites API',
  tag: 'Files',
  access: 'any',
  params: spriteParams,
  errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict'],
} as const;

export const fileOperations = {
  readFile: defineOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/read',
    summary: 'The content of a file, as octets',
    query: readFileRequest,
    answer: { kind: 'raw' },
  }),
  writeFile: defineOperation({
    ...shared,
    method: 'PUT',
    path: '/v1/sprites/{name}/fs/write',
    summary: 'Write a file from the body, which is octets; answers as WriteResponse',
    query: writeFileRequest,
    answer: { kind: 'raw' },
  }),
  listFiles: defineOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/list',
    summary: 'The entries of a directory',
    query: listFilesRequest,
    answer: { kind: 'json', status: 200, schema: fileListResponse },
  }),
  deleteFiles: defineOperation({
    ...shared,
    method: 'DELETE',
    path: '/v1/sprites/{name}/fs/delete',
    summary: 'Delete a file or a directory',
    query: deleteRequest,
    answer: { kind: 'json', status: 200, schema: deleteResponse },
  }),
  renameFile: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/rename',
    summary: 'Rename a file or a directory',
    body: renameRequest,
    answer: { kind: 'json', status: 200, schema: renameResponse },
  }),
  copyFiles: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/copy',
    summary: 'Copy a file or a directory',
    body: copyRequest,
    answer: { kind: 'json', status: 200, schema: copyResponse },
  }),
  changeFileMode: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/chmod',
    summary: 'Change the mode of files',
    body: chmodRequest,
    answer: { kind: 'json', status: 200, schema: chmodResponse },
  }),
  changeFileOwner: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/chown',
    summary: 'Change the owner of files',
    body: chownRequest,
    answer: { kind: 'json', status: 200, schema: chownResponse },
  }),
  watchFiles: defineOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/watch',
    summary: 'File changes as they happen, over a WebSocket',
    answer: { kind: 'raw' },
    upgrade: 'websocket',
  }),
} as const;
