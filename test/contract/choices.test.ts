// The list of our own choices stays readable: one entry a topic, each with a choice and a reason.
import { expect, test } from 'vitest';
import { choices } from '../../src/contract/choices.ts';

test('every topic is settled once, with a reason', () => {
  const topics = choices.map((choice) => choice.topic);
  expect(topics.length).toBeGreaterThan(0);
  expect(topics.filter((topic, at) => topics.indexOf(topic) !== at)).toEqual([]);
  for (const { topic, choice, reason } of choices) {
    expect(choice.length, topic).toBeGreaterThan(2);
    expect(reason, topic).toMatch(/\.$/);
  }
});
