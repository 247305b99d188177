// Which modules of the built program lie in one file, because every start of the agent needs them all: each file costs it a quarter of a millisecond.
import type { CodeSplittingGroup } from 'rolldown';

/** What is loaded in one piece when the agent starts. */
const START = ['src/cli/commands/agent.ts'];
/** What the threads of its databases load, each into a heap of its own: the rest of a start must not come along. */
const THREADS = ['src/agent/gateway/audit/audit-worker.ts', 'src/agent/replication/cache/cache-worker.ts'];
/** What other commands use as well. The rest of a start is used by nothing else, and has a file already. */
const SHARED = /^src\/(?:contract|core|http|linux|sqlite|client)\//;

/** What the threads share with the start comes first: it is in no other file then. `root`: the directory of the package; ends with a slash. */
export function toStartChunks(root: string): CodeSplittingGroup[] {
  return [toChunk('shared-threads', root, THREADS), toChunk('shared-start', root, START)];
}

function toChunk(name: string, root: string, starts: readonly string[]): CodeSplittingGroup {
  let needed: ReadonlySet<string> | undefined;
  return {
    debugName: name,
    name(id, modules) {
      const first = starts.map((file) => `${root}${file}`);
      needed ??= withImports(first, (each) => modules.getModuleInfo(each)?.importedIds ?? []);
      return needed.has(id) && SHARED.test(id.slice(root.length)) ? name : null;
    },
  };
}

function withImports(first: readonly string[], toImports: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set(first);
  for (const id of found) for (const each of toImports(id)) found.add(each);
  return found;
}
