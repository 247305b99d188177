// Whose connector is made: an organization, and the user for whom it was asked.

export interface ConnectorOwner {
  readonly organization_id: string;
  readonly user_id: string | null;
}
