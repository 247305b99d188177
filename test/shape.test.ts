// The size of the source, read from its syntax: files and functions stay small, and no function keeps much that changes.
import { readdirSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

const FUNCTION_LINES_MAX = 120;
const CHANGING_MAX = 8;
const MEDIAN_FILE_LINES = 80;

const root = new URL('../src/', import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));

interface FunctionShape {
  readonly place: string;
  readonly lines: number;
  /** Variables that it declares with `let`, outside the functions within it. */
  readonly changing: number;
}

/** Any node of a syntax tree: its kind, its place in the text, and further nodes. */
type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number; readonly end: number };

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;
const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode);
const isFunction = ({ type }: Node) =>
  /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);

function countChanging(node: Node): number {
  const { declarations } = node;
  const own = node.kind === 'let' && Array.isArray(declarations) ? declarations.length : 0;
  const inner = childrenOf(node).filter((child) => !isFunction(child));
  return inner.reduce((sum, child) => sum + countChanging(child), own);
}

function readShapes(path: string, text: string): FunctionShape[] {
  const shapes: FunctionShape[] = [];
  const visit = (node: Node): void => {
    if (isFunction(node)) {
      const place = `${path}:${text.slice(0, node.start).split('\n').length}`;
      const lines = text.slice(node.start, node.end).split('\n').length;
      shapes.push({ place, lines, changing: countChanging(node) });
    }
    childrenOf(node).forEach(visit);
  };
  visit(parseAst(text, { lang: 'ts' }, path) as unknown as Node);
  return shapes;
}

const shapes = files.flatMap(({ path, text }) => readShapes(path, text));

test('the functions are found', () => {
  const text = 'const a = () => {\n  let [b, c] = [1, 2], d = 3;\n  return () => { let e = 1; };\n};';
  expect(readShapes('x.ts', text)).toEqual([
    { place: 'x.ts:1', lines: 4, changing: 2 },
    { place: 'x.ts:3', lines: 1, changing: 1 },
  ]);
  expect(shapes.length).toBeGreaterThan(files.length);
});

test(`no function has more than ${FUNCTION_LINES_MAX} lines`, () => {
  expect(shapes.filter(({ lines }) => lines > FUNCTION_LINES_MAX)).toEqual([]);
});

test(`no function has more than ${CHANGING_MAX} variables that change`, () => {
  expect(shapes.filter(({ changing }) => changing > CHANGING_MAX)).toEqual([]);
});

test(`half of the files have fewer than ${MEDIAN_FILE_LINES} lines`, () => {
  const lines = files.map(({ text }) => text.split('\n').length - 1).sort((one, other) => one - other);
  expect(lines[Math.floor(lines.length / 2)]).toBeLessThan(MEDIAN_FILE_LINES);
});
