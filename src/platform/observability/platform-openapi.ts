// The interface of the platform as an OpenAPI document. Loaded when somebody asks for it.
import { platformOperations } from '../../contract/platform-operations.ts';
import { toOpenApi } from '../../http/openapi.ts';

export function toPlatformOpenApi(url: string, version: string): Record<string, unknown> {
  return toOpenApi(
    platformOperations,
    { title: 'Remora platform', version },
    {
      servers: [{ url }],
      bearer: {
        description: 'the token of an organization, or of one of its sprites where the operation is open to it',
      },
    },
  );
}
