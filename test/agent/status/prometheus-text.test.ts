// The text of a metric beside what prom-client writes of the same values.
import { Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { toMetricText } from '../../../src/agent/status/prometheus-text.ts';

const [name, help] = ['remora_a_thing', 'What a thing is.'];

test('a value without labels, whatever number it is', async () => {
  for (const value of [0, 1.5, -2, 1e21, 1e-9, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const registry = new Registry();
    new Gauge({ name, help, registers: [registry] }).set(value);
    expect(toMetricText(name, { type: 'gauge', help, samples: [{ value }] })).toBe(await registry.metrics());
  }
  expect(toMetricText(name, { type: 'gauge', help, samples: [{ value: Number.NaN }] })).toMatch(/thing NaN\n$/);
});

test('labels with every character that has a meaning', async () => {
  const registry = new Registry();
  const gauge = new Gauge({ name, help, labelNames: ['provider', 'path'], registers: [registry] });
  const samples = [
    { labels: { provider: 'a"b', path: 'c\\d' }, value: 1 },
    { labels: { provider: 'e\nf', path: '{g="h"} 1' }, value: 2 },
  ];
  for (const { labels, value } of samples) gauge.set(labels, value);
  expect(toMetricText(name, { type: 'gauge', help, samples })).toBe(await registry.metrics());
});

test('a histogram has its parts under one head', async () => {
  const registry = new Registry();
  const histogram = new Histogram({ name, help, labelNames: ['at'], buckets: [0.1, 1], registers: [registry] });
  histogram.observe({ at: 'x' }, 0.5);
  histogram.observe({ at: 'x' }, 2);
  const bucket = (le: string, value: number) => ({ suffix: '_bucket', labels: { le, at: 'x' }, value });
  const samples = [
    ...[bucket('0.1', 0), bucket('1', 1), bucket('+Inf', 2)],
    { suffix: '_sum', labels: { at: 'x' }, value: 2.5 },
    { suffix: '_count', labels: { at: 'x' }, value: 2 },
  ];
  expect(toMetricText(name, { type: 'histogram', help, samples })).toBe(await registry.metrics());
});
