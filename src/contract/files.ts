// File operations of a sprite (Sandbox API, File operation records; the paths are those of the Sprites API).

import { errorBody } from './errors.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean } from './query-values.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

const size = z.int().nonnegative();

/** A path of Linux. It may be relative to `workingDir`. */
const path = z
  .string()
  .min(1)
  .max(4_095)
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');
/** The directory where relative paths start; it is no jail. */
const workingDir = path.refine((text) => text.startsWith('/'), 'expected an absolute path');
/** Clients of the Sprites API leave out what is false (DECISIONS.md, "Absent booleans of file operations"). */
const flag = z.boolean().default(false);
const common = { workingDir, asRoot: flag };

/** Where a request without a body says which file it is about. */
const where = { path, workingDir, asRoot: queryBoolean().default(false) };

export const fileEntry = z.object({
  name: z.string(),
  path: z.string(),
  type: z.string(),
  size,
  mode: z.string(),
  modTime: dateTime,
  isDir: z.boolean(),
  /** Set when the name is not UTF-8: no path leads to the file here (DECISIONS.md, "Names that are not UTF-8"). */
  unusable: z.literal(true).optional(),
});
export type FileEntry = z.infer<typeof fileEntry>;

export const fileListResponse = z.object({ path: z.string(), entries: z.array(fileEntry), count: size });
export type FileListResponse = z.infer<typeof fileListResponse>;

export const writeResponse = z.object({ path: z.string(), size, mode: z.string() });
export type WriteResponse = z.infer<typeof writeResponse>;

/** The permission bits in octal. */
const octalMode = z.string().regex(/^[0-7]{3,4}$/, 'expected three or four octal digits');

export const chmodRequest = z.object({ path, mode: octalMode, recursive: flag, ...common });
export type ChmodRequest = z.infer<typeof chmodRequest>;

export const chmodResult = z.object({ path: z.string(), mode: z.string() });
export type ChmodResult = z.infer<typeof chmodResult>;

export const chmodResponse = z.object({ affected: z.array(chmodResult), count: size });
export type ChmodResponse = z.infer<typeof chmodResponse>;

/**
 * A user or a group: a number or a name. The Sandbox API only says "typed as object"
 * (DECISIONS.md, "Uid and gid of a chown request").
 */
export const fileOwner = z.union([
  z.int().nonnegative().max(4_294_967_294),
  z.string().min(1).max(256),
  z.record(z.string(), z.unknown()),
]);
export type FileOwner = z.infer<typeof fileOwner>;

export const chownRequest = z
  .object({ path, uid: fileOwner.optional(), gid: fileOwner.optional(), recursive: flag, ...common })
  .refine(({ uid, gid }) => uid !== undefined || gid !== undefined, {
    path: ['uid'],
    message: 'expected uid, gid, or both',
  });
export type ChownRequest = z.infer<typeof chownRequest>;

export const chownResult = z.object({ path: z.string(), uid: z.int(), gid: z.int() });
export type ChownResult = z.infer<typeof chownResult>;

export const chownResponse = z.object({ affected: z.array(chownResult), count: size });
export type ChownResponse = z.infer<typeof chownResponse>;

/** Sent as a query, so that the boolean arrives as text. */
export const deleteRequest = z.object({ ...where, recursive: queryBoolean().default(false) });
export type DeleteRequest = z.infer<typeof deleteRequest>;

export const deleteResponse = z.object({ deleted: z.array(z.string()), count: size });
export type DeleteResponse = z.infer<typeof deleteResponse>;

export const copyRequest = z.object({ source: path, dest: path, recursive: flag, preserveAttrs: flag, ...common });
export type CopyRequest = z.infer<typeof copyRequest>;

export const copyResult = z.object({ source: z.string(), dest: z.string() });
export type CopyResult = z.infer<typeof copyResult>;

export const copyResponse = z.object({
  copied: z.array(copyResult),
  count: size,
  totalBytes: size,
  /** Devices, FIFOs and sockets, when there were any. */
  skipped: z.array(z.string()).optional(),
});
export type CopyResponse = z.infer<typeof copyResponse>;

export const renameRequest = z.object({ source: path, dest: path, ...common });
export type RenameRequest = z.infer<typeof renameRequest>;

export const renameResponse = z.object({ source: z.string(), dest: z.string() });
export type RenameResponse = z.infer<typeof renameResponse>;

/** The body of a refused file operation, which also carries the code of the system and the path. Remora always sends a message. */
export const fileError = errorBody.partial({ message: true }).extend({ code: z.string(), path: z.string() });
export type FileError = z.infer<typeof fileError>;

/** Sent as a query. */
export const readFileRequest = z.object(where);
export type ReadFileRequest = z.infer<typeof readFileRequest>;

/** Sent as a query; the body is the content of the file. `append` adds it to the end of what is there. */
export const writeFileRequest = z.object({
  ...where,
  mkdirParents: queryBoolean().default(false),
  append: queryBoolean().default(false),
  mode: octalMode.optional(),
});
export type WriteFileRequest = z.infer<typeof writeFileRequest>;

/** Sent as a query. */
export const listFilesRequest = z.object({
  ...where,
  recursive: queryBoolean().default(false),
  pattern: z.string().max(1_024).optional(),
});
export type ListFilesRequest = z.infer<typeof listFilesRequest>;

/** The first frame of a watch. */
export const watchFilesRequest = z.object({
  type: z.literal('subscribe'),
  paths: z.array(path).min(1).max(256),
  recursive: flag,
  workingDir,
});
export type WatchFilesRequest = z.infer<typeof watchFilesRequest>;

/** A change, as clients of the Sprites API name it; `rename` carries the old path, and the new one comes as `create`. */
export const fileWatchEvent = z.object({
  type: z.literal('event'),
  event: z.enum(['create', 'write', 'remove', 'rename', 'chmod']),
  path: z.string(),
  timestamp: dateTime,
  size: size.optional(),
  isDir: z.boolean().optional(),
});
export type FileWatchEvent = z.infer<typeof fileWatchEvent>;

/** What a watch sends. After `error` it ends. */
export const fileWatchFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('subscribed'), paths: z.array(z.string()) }),
  fileWatchEvent,
  z.object({ type: z.literal('error'), message: z.string(), path: z.string().optional() }),
]);
export type FileWatchFrame = z.infer<typeof fileWatchFrame>;

const shared = {
  source: 'Sandbox API, File operation records; Sprites API',
  tag: 'Files',
  servedAt: ['tcp', 'operator'],
  access: 'organization',
  // A token that only reads gets no files.
  readOnly: false,
  params: spriteParams,
  errors: [
    'invalid_request',
    'unauthorized',
    'forbidden',
    'not_found',
    'already_exists',
    'conflict',
    'payload_too_large',
    'storage_full',
    'not_ready',
    ...reachErrors,
  ],
} as const;

export const fileOperations = {
  readFile: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/read',
    summary: 'The content of a file, as octets',
    query: readFileRequest,
    answer: { kind: 'raw' },
    errors: [...shared.errors, 'invalid_range'],
  }),
  writeFile: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: '/v1/sprites/{name}/fs/write',
    summary: 'Write a file from the body, which is octets; answers as WriteResponse',
    query: writeFileRequest,
    answer: { kind: 'raw' },
    errors: [...shared.errors, 'timeout'],
  }),
  listFiles: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/list',
    summary: 'The entries of a directory',
    query: listFilesRequest,
    answer: { kind: 'json', status: 200, schema: fileListResponse },
  }),
  deleteFiles: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: '/v1/sprites/{name}/fs/delete',
    summary: 'Delete a file or a directory',
    query: deleteRequest,
    answer: { kind: 'json', status: 200, schema: deleteResponse },
  }),
  renameFile: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/rename',
    summary: 'Rename a file or a directory',
    body: renameRequest,
    answer: { kind: 'json', status: 200, schema: renameResponse },
  }),
  copyFiles: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/copy',
    summary: 'Copy a file or a directory',
    body: copyRequest,
    answer: { kind: 'json', status: 200, schema: copyResponse },
  }),
  changeFileMode: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/chmod',
    summary: 'Change the mode of files',
    body: chmodRequest,
    answer: { kind: 'json', status: 200, schema: chmodResponse },
  }),
  changeFileOwner: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/fs/chown',
    summary: 'Change the owner of files',
    body: chownRequest,
    answer: { kind: 'json', status: 200, schema: chownResponse },
  }),
  watchFiles: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/fs/watch',
    summary: 'File changes as they happen, over a WebSocket',
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: [...shared.errors, 'too_many_requests', 'upgrade_required'],
  }),
} as const;
