/** Roles that may not log in through the gateway. */
export const reservedUsers: readonly string[] = ['postgres'];
