// The operations with which extensions are provisioned, sign-on is served and costs are told, as a table. Pure.
import type { Operation } from '../../contract/operation.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { toOperationName } from './contract-tables.ts';
import { toMarkdownTable } from './markdown-table.ts';

const paths = /^\/(?:v1\/extension|oauth\/|\.well-known\/oauth|api\/hooks\/|v1\/apps\/\{app_name\}\/secrets|v1\/users)/;

/** Decides by the path: those of sign-on and of users are beside those of extensions. */
export function isOfExtensions({ path }: Operation): boolean {
  return paths.test(path);
}

export function toExtensionsOperationTable(): string {
  const served = Object.values<Operation>(platformOperations).filter(isOfExtensions);
  return toMarkdownTable(
    ['operation', 'what it does'],
    served.map((operation) => [toOperationName(operation), operation.summary]),
  );
}
