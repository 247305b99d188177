// Programs of the kernel in a process that gets signals. Needs root, and a kernel that filters devices.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type BpfProgram, openBpf } from '../../../src/linux/kernel/bpf.ts';
import { opcodes, toInstruction } from '../../../src/linux/kernel/bpf-instructions.ts';
import { loudly } from '../../support/loudly.ts';

const { EXIT, MOVE } = opcodes;
const DEVICES = 15;
/** So many that dozens of signals come while one is checked. */
const LOADS = 500;

/** Allows everything, in so many steps that its check takes a while. */
const program: BpfProgram = {
  type: DEVICES,
  attach_type: 0,
  instructions: Buffer.concat([
    ...Array.from({ length: 1_000 }, () => toInstruction(MOVE, 0, 0, 0, 1)),
    toInstruction(EXIT, 0, 0, 0, 0),
  ]),
};

async function whyNot(): Promise<string | undefined> {
  try {
    closeSync((await openBpf()).load(program));
    return undefined;
  } catch (error) {
    return String(error);
  }
}

const why = await whyNot();

describe.skipIf(loudly(why !== undefined, `${why}: no program of the kernel is loaded`))('a program', () => {
  test('is loaded although signals come', async () => {
    const { load } = await openBpf();
    let signals = 0;
    const onSignal = () => {
      signals += 1;
    };
    process.on('SIGUSR2', onSignal);
    onTestFinished(() => void process.off('SIGUSR2', onSignal));
    const sender = spawn('sh', ['-c', 'while kill -USR2 "$0"; do sleep 0.0005; done', String(process.pid)]);
    onTestFinished(async () => {
      sender.kill('SIGKILL');
      await once(sender, 'exit');
    });
    for (let count = 0; count < LOADS || signals < LOADS / 10; count += 1) {
      const loaded = load(program);
      expect(loaded).toBeGreaterThan(0);
      closeSync(loaded);
      await nextTurn();
    }
  });
});
