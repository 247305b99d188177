/** The turn of transactions that give an app a machine or delete it: an app with a machine is never deleted. */
export function toAppTurn(name: string): string {
  return `app ${name}`;
}
