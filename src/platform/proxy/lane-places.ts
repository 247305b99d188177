// How many lanes to ports may be open, over all machines: each holds a file of the platform process and a little memory.
const PLACES = 1_024;

export class LanePlaces {
  #taken = 0;

  /** False when there is none. */
  take(): boolean {
    if (this.#taken >= PLACES) return false;
    this.#taken += 1;
    return true;
  }

  leave(): void {
    this.#taken -= 1;
  }
}
