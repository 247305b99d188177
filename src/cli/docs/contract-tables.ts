// The contract as tables: operations, events, error codes, and the sources that operations cite. Pure.
import { errorTexts } from '../../contract/error-texts.ts';
import { errorStatus } from '../../contract/errors.ts';
import { agentEvents } from '../../contract/local/event-types.ts';
import type { LocalOperations, Operation, Operations } from '../../contract/operation.ts';
import { sources } from '../../contract/sources.ts';
import { toMarkdownTable } from './markdown-table.ts';

/** `GET \`/v1/health\``, as pages name an operation. */
export function toOperationName({ method, path }: Operation): string {
  return `${method === '*' ? 'any' : method} \`${path}\``;
}

const platformAccess = {
  none: 'nobody is asked',
  any: 'organization, sprite',
  every: 'organization, sprite, machine',
  organization: 'organization',
  agent: 'sprite, machine',
  operator: "none: the platform's own socket",
} as const;

export function toPlatformOperationTable(operations: Operations): string {
  return toMarkdownTable(
    ['operation', 'what it does', 'token of'],
    Object.values(operations).map((operation) => [
      toOperationName(operation),
      operation.summary,
      platformAccess[operation.access ?? 'organization'],
    ]),
  );
}

export function toAgentOperationTable(operations: LocalOperations): string {
  return toMarkdownTable(
    ['operation', 'what it does', 'served at'],
    Object.values(operations).map((operation) => [
      toOperationName(operation),
      operation.summary,
      operation.servedAt.join(', '),
    ]),
  );
}

export function toEventTable(): string {
  return toMarkdownTable(
    ['type', 'when', 'fields'],
    Object.entries(agentEvents).map(([type, { summary, fields }]) => [
      `\`${type}\``,
      summary,
      fields.map((field) => `\`${field}\``).join(', '),
    ]),
  );
}

export function toErrorTable(): string {
  return toMarkdownTable(
    ['code', 'status', 'what it means'],
    Object.entries(errorTexts).map(([code, text]) => [
      `\`${code}\``,
      String(errorStatus[code as keyof typeof errorStatus]),
      text,
    ]),
  );
}

export function toSourceTable(): string {
  return toMarkdownTable(
    ['cited as', 'what it is', 'what comes from it'],
    Object.entries(sources).map(([name, { title, covers, kind }]) => [
      name,
      kind === 'specification' ? `the specification "${title}"` : title,
      covers,
    ]),
  );
}
