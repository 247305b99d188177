// Which modules of the built program lie in one file, because every start of the agent needs them all: each file costs it a quarter of a millisecond.
import type { CodeSplittingGroup } from 'rolldown';

/** What is loaded in one piece when the agent starts. */
const START = 'src/cli/commands/agent.ts';
/** What other commands use as well. The rest of a start is used by nothing else, and has a file already. */
const SHARED = /^src\/(?:contract|core|http|linux|sqlite|client)\//;

const NAME = 'shared-start';

/** `root`: the directory of the package; ends with a slash. */
export function toStartChunk(root: string): CodeSplittingGroup {
  let needed: ReadonlySet<string> | undefined;
  return {
    debugName: NAME,
    name(id, modules) {
      needed ??= withImports(`${root}${START}`, (each) => modules.getModuleInfo(each)?.importedIds ?? []);
      return needed.has(id) && SHARED.test(id.slice(root.length)) ? NAME : null;
    },
  };
}

function withImports(first: string, toImports: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set([first]);
  for (const id of found) for (const each of toImports(id)) found.add(each);
  return found;
}
