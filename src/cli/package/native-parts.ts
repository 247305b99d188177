// What the built program needs beside it: Node, and the packages with code for one processor. Pure.
import { type Architecture, architectures } from './architecture.ts';

/** A directory of the tree, and what of it is copied. */
export interface NativePart {
  /** A directory below `node_modules`, in the tree that is made. */
  readonly name: string;
  /** The package in the registry that has the files, where it is another one. */
  readonly from: string;
  /** Files and directories below it. */
  readonly paths: readonly string[];
  /** Code for one processor: a tree for another one needs it from the registry. */
  readonly isBound: boolean;
}

/** What runs everything in the tree that is made. */
export const NODE_COMMAND = 'node_modules/.bin/node';

export function toNativeParts(architecture: Architecture): NativePart[] {
  const cpu = architectures[architecture];
  return [
    { name: 'node', from: `node-linux-${cpu}`, paths: ['LICENSE', 'package.json', 'bin/node'], isBound: true },
    {
      name: 'better-sqlite3',
      from: 'better-sqlite3',
      paths: ['LICENSE', 'package.json', 'lib', `prebuilds/linux-${cpu}.node`],
      isBound: false,
    },
    // The part of this one that finds the code for the processor is all that is used.
    {
      name: '@lydell/node-pty',
      from: '@lydell/node-pty',
      paths: ['LICENSE', 'package.json', 'requireBinary.js'],
      isBound: false,
    },
    {
      name: `@lydell/node-pty-linux-${cpu}`,
      from: `@lydell/node-pty-linux-${cpu}`,
      paths: ['package.json', 'pty.node'],
      isBound: true,
    },
  ];
}
