// The client of sign-on that stands for the URLs of sprites. It is the platform's own: nobody is asked for consent, and it has no secret.
import type { SignOnClient, SignOnClients } from './sign-on-client.ts';

export const URL_CLIENT_ID = 'remora-urls';

/** The name that is served at this address, where browsers may be sent back to; undefined for every other address. */
export type ReadUrl = (redirect_uri: string) => string | undefined;

/** The clients, and this one, which has whatever address `readUrl` knows. */
export function withUrlClient(clients: SignOnClients, readUrl: ReadUrl | undefined): SignOnClients {
  if (readUrl === undefined) return clients;
  return {
    async findByClientId(client_id, redirect_uri) {
      if (client_id !== URL_CLIENT_ID) return await clients.findByClientId(client_id);
      const name = redirect_uri === undefined ? undefined : readUrl(redirect_uri);
      return name === undefined || redirect_uri === undefined ? undefined : toClient(name, redirect_uri);
    },
    checkClientSecret: (client, given) => clients.checkClientSecret(client, given),
  };
}

function toClient(name: string, redirect_uri: string): SignOnClient {
  return { name, client_id: URL_CLIENT_ID, base_url: redirect_uri, redirect_uris: [redirect_uri], isOwn: true };
}
