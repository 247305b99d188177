// The share of an amount that the operator keeps, in whole minor units. Pure.

/** A hundred percent, in basis points: the operator's setting is a whole number of them, so that no fraction is ever computed with. */
export const SHARE_MAX_BP = 10_000n;

/**
 * What the operator keeps of `amount`: rounded toward zero, so that what is lost by rounding goes to the provider, and a credit undoes a
 * charge of the same amount exactly. `amount` is of minor units, at most 10¹¹ of them; `share_bp` is 0 to 10,000.
 */
export function toShare(amount: number, share_bp: number): number {
  return Number((BigInt(amount) * BigInt(share_bp)) / SHARE_MAX_BP);
}
