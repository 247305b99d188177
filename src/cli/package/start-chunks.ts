// Which modules of the built program lie in one file, because every start of the agent or of the supervisor needs them all: each file costs it
// a quarter of a millisecond.
import type { CodeSplittingGroup } from 'rolldown';

/** What is loaded in one piece before the agent can be reached, and what afterwards. */
const EARLY = ['src/cli/commands/agent.ts'];
const PARTS = ['src/agent/open-parts.ts'];
/** The supervisor before it can be reached, and what it loads at the first call of each kind. */
const SUPERVISOR = ['src/cli/commands/supervisor.ts'];
const INSIDE = [
  'src/supervisor/services/services.ts',
  'src/supervisor/processes/processes.ts',
  'src/supervisor/files/files.ts',
];
/** What the threads of its databases load, each into a heap of its own: the rest of a start must not come along. */
const THREADS = ['src/agent/gateway/audit/audit-worker.ts', 'src/agent/replication/cache/cache-worker.ts'];
/** What other commands use as well. The rest of a start is used by nothing else, and has a file already. */
const SHARED = /^src\/(?:contract|core|http|linux|sqlite|client)\//;

/** Each module is in the first file that it belongs to. `root`: the directory of the package; ends with a slash. */
export function toStartChunks(root: string): CodeSplittingGroup[] {
  return [
    toChunk('shared-base', root, THREADS, EARLY),
    toChunk('shared-early', root, EARLY),
    toChunk('shared-lines', root, INSIDE, THREADS),
    toChunk('shared-threads', root, THREADS),
    toChunk('shared-supervisor', root, SUPERVISOR, PARTS),
    toChunk('shared-inside', root, INSIDE, PARTS),
    toChunk('shared-parts', root, PARTS),
  ];
}

/** The modules that each of `kinds` needs: a kind is a list of files that are loaded together. */
function toChunk(name: string, root: string, ...kinds: readonly (readonly string[])[]): CodeSplittingGroup {
  let needed: readonly ReadonlySet<string>[] | undefined;
  return {
    debugName: name,
    name(id, modules) {
      needed ??= kinds.map((files) =>
        withImports(
          files.map((file) => `${root}${file}`),
          (each) => modules.getModuleInfo(each)?.importedIds ?? [],
        ),
      );
      return needed.every((found) => found.has(id)) && SHARED.test(id.slice(root.length)) ? name : null;
    },
  };
}

function withImports(first: readonly string[], toImports: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set(first);
  for (const id of found) for (const each of toImports(id)) found.add(each);
  return found;
}
