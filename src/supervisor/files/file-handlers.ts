// Answers file operations in this process, with its own rights or, as root, with care.
import type { ServerResponse } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import type { Call, Handlers } from '../../http/handler.ts';
import { sendJson } from '../../http/reply.ts';
import { changeMode } from './actions/change-mode.ts';
import { changeOwner } from './actions/change-owner.ts';
import { copyFiles } from './actions/copy-files.ts';
import { deleteFiles } from './actions/delete-files.ts';
import { listFiles } from './actions/list-files.ts';
import { openFile } from './actions/read-file.ts';
import { renameFile } from './actions/rename-file.ts';
import { writeFile } from './actions/write-file.ts';
import { readContent } from './body-content.ts';
import type { RawFileOperations } from './raw-file-operations.ts';
import { sendFile } from './send-file.ts';
import { sendList } from './send-list.ts';
import type { Rights } from './tree/rights.ts';
import { createWatchHandler } from './watch/watch-handler.ts';

/** Inert. The edge needs `mapFileError` for what these throw. */
export function createFileHandlers(rights: Rights): Handlers<RawFileOperations, unknown> {
  return {
    async readFile({ query, request }, response) {
      const file = await openFile(rights, query);
      try {
        await sendFile(request, response, file);
      } finally {
        await file.handle.close();
      }
    },
    async writeFile({ query, request }, response) {
      const written = await writeFile(rights, query, readContent(request, response));
      sendJson(response, 200, written);
    },
    async listFiles({ query, signal }, response) {
      await sendList(response, await listFiles(rights, query, signal));
    },
    deleteFiles: answer(({ query, signal }) => deleteFiles(rights, query, signal)),
    renameFile: answer(({ body, signal }) => renameFile(rights, body, signal)),
    copyFiles: answer(({ body, signal }) => copyFiles(rights, body, signal)),
    changeFileMode: answer(({ body, signal }) => changeMode(rights, body, signal)),
    changeFileOwner: answer(({ body, signal }) => changeOwner(rights, body, signal)),
    watchFiles: createWatchHandler(),
  };
}

type Answerer<O extends Operation> = (call: Call<O, unknown>, response: ServerResponse) => Promise<void>;

function answer<O extends Operation>(act: (call: Call<O, unknown>) => Promise<object>): Answerer<O> {
  return async (call, response) => sendJson(response, 200, await act(call));
}
