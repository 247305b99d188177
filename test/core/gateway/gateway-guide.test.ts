// The guide of the gateway: what stands in it for a caller with few connectors, and with very many.
import { expect, test } from 'vitest';
import { toGatewayGuide } from '../../../src/core/gateway/gateway-guide.ts';

function toGuide(count: number): string {
  const connections = Array.from({ length: count }, (_, index) => ({
    id: `conn_${index}`,
    provider: 'openai',
    display_name: 'OpenAI',
    base_url: `http://remora/v1/gateway/openai/conn_${index}`,
    snippet: 'curl http://remora',
  }));
  return toGatewayGuide({ origin: 'http://remora', connections });
}

test('few connectors are all shown', () => {
  expect(toGuide(0)).toContain('None now.');
  expect(toGuide(500)).toContain('`conn_499`');
  expect(toGuide(500)).not.toMatch(/And \d+ more/);
});

test('of very many the first are shown, and the number of the others', () => {
  const text = toGuide(10_000);
  expect(text).toContain('`conn_499`');
  expect(text).not.toContain('`conn_500`');
  expect(text).toContain('And 9500 more');
  expect(text.length).toBeLessThan(200_000);
});
