/** Bounds what a gateway keeps in memory for all clients whose connections may outlive a leader. */
export class KeptBudget {
  private left: number;

  constructor(bytesMax: number) {
    this.left = bytesMax;
  }

  /** False: there is no room, and nothing was taken. */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.left += bytes;
  }
}
