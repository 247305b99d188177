// What the platform knows of one extension provider.
import type { ExtensionEvent } from '../../contract/extension-providers.ts';

export interface ExtensionProvider {
  readonly name: string;
  /** Where it is called, without a slash at the end. */
  readonly base_url: string;
  readonly redirect_uris: readonly string[];
  /** The app of this platform that it runs as; null for one that runs elsewhere. */
  readonly app: string | null;
  /** The organization of its app; null without one. */
  readonly organization_id: string | null;
  readonly region_aware: boolean;
  readonly official: boolean;
  readonly latency_sensitive: boolean;
  /** What it is notified of besides the machines of its app. */
  readonly events: readonly ExtensionEvent[];
  /** What the operator keeps of its costs, in hundredths of a percent. */
  readonly revenue_share_bp: number;
  readonly client_id: string;
  readonly created_at: number;
}
