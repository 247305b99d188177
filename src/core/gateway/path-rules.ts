// The path rules of an access policy, compiled once. A path is judged by its readings: the forms in which a provider may read it. Pure.

import { withoutLastSlashes } from '../without-last-slashes.ts';
import { toRuleReadings } from './path-readings.ts';
import { createRuleIndex, type RuleForm } from './rule-index.ts';

export interface PathRules {
  /** The first block rule that covers the reading, in its original text. */
  readonly findBlock: (reading: string) => string | undefined;
  /** `undefined`: every path is allowed. */
  readonly allowed: AllowRules | undefined;
}

export interface AllowRules {
  /** The first rule that covers the path byte for byte, in its original text. */
  readonly findAsSent: (path: string) => string | undefined;
  /** Whether any rule covers the reading. */
  readonly covers: (reading: string) => boolean;
}

/**
 * A rule of an older policy may lack its first slash or have a `*` before its end. As a block rule it is then read wide, up to
 * its first `*`, because its purpose was to block; as an allow rule it is read literally, and so covers hardly anything.
 */
export function compilePathRules(blocked: readonly string[], allowed: readonly string[] | undefined): PathRules {
  return {
    findBlock: compileBlocked(blocked),
    allowed: allowed === undefined ? undefined : compileAllowed(allowed),
  };
}

/** A block rule also covers the other case, the last slash, and, for `/x/*`, the collection `/x` itself. */
function compileBlocked(sources: readonly string[]): PathRules['findBlock'] {
  const forms = sources.flatMap((source, place) => {
    const star = source.indexOf('*');
    const bare = star < 0 ? source : source.slice(0, star);
    const literal = bare.startsWith('/') || source.startsWith('*') ? bare : `/${bare}`;
    const readings = star < 0 ? toRuleReadings(literal) : toBeginnings(literal);
    return readings.flatMap((reading): RuleForm[] => {
      const text = foldCase(reading);
      const itself = { text: withoutLastSlashes(text), isPrefix: false, place };
      if (star < 0) return [itself];
      const prefix = { text, isPrefix: true, place };
      // A prefix without a last slash covers itself.
      return itself.text === text ? [prefix] : [itself, prefix];
    });
  });
  if (forms.length === 0) return () => undefined;
  const index = createRuleIndex(forms);
  const longest = forms.reduce((length, { text }) => Math.max(length, text.length), 0);
  return (reading) => {
    const bare = withoutLastSlashes(reading);
    // Folding the case of a text never shortens it, so that a text longer than every form equals none of them.
    const whole = bare.length > longest ? undefined : index.findWhole(foldCase(bare));
    return textAt(sources, least(whole, index.findBegin(foldCase(reading.slice(0, longest + 1)))));
  };
}

/** The readings of a prefix: dots at its end are the beginning of a name and not yet a dot segment. */
function toBeginnings(literal: string): readonly string[] {
  return toRuleReadings(`${literal}x`).map((reading) => reading.slice(0, -1));
}

function compileAllowed(sources: readonly string[]): AllowRules {
  const rules = sources.map((source, place) => {
    const isPrefix = source.endsWith('*');
    return { text: isPrefix ? source.slice(0, -1) : source, isPrefix, place };
  });
  const asSent = createRuleIndex(rules);
  const read = createRuleIndex(rules.flatMap((rule) => toRuleReadings(rule.text).map((text) => ({ ...rule, text }))));
  return {
    findAsSent: (path) => textAt(sources, least(asSent.findWhole(path), asSent.findBegin(path))),
    covers: (reading) => read.findWhole(reading) !== undefined || read.findBegin(reading) !== undefined,
  };
}

/** Folds the case of all letters; the sigma at the end of a word is folded like any other. */
function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('\u03c2', '\u03c3');
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

function textAt(sources: readonly string[], place: number | undefined): string | undefined {
  return place === undefined ? undefined : sources[place];
}
