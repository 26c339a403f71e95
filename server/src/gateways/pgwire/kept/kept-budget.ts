/** Bounds what a gateway keeps in memory for clients whose connections may outlive a leader. */
export interface KeptBudget {
  /** False: there is no room, and nothing was taken. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** Of all clients. Those of one role have as much at most as they leave to all others: one role has half of it. */
export class KeptBudgets {
  private left: number;
  private readonly taken = new Map<string, number>();

  constructor(bytesMax: number) {
    this.left = bytesMax;
  }

  of(role: string): KeptBudget {
    return {
      take: (bytes) => this.take(role, bytes),
      giveBack: (bytes) => this.giveBack(role, bytes),
    };
  }

  private take(role: string, bytes: number): boolean {
    const taken = (this.taken.get(role) ?? 0) + bytes;
    const left = this.left - bytes;
    if (taken > left) return false;
    this.left = left;
    this.taken.set(role, taken);
    return true;
  }

  private giveBack(role: string, bytes: number): void {
    this.left += bytes;
    const taken = (this.taken.get(role) ?? 0) - bytes;
    if (taken > 0) this.taken.set(role, taken);
    else this.taken.delete(role);
  }
}
