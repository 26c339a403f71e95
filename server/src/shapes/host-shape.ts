/** A host, in a document from outside. */
import { z } from 'zod';
import { hostWords, isHost } from './host.ts';

export const hostShape = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => text.length === 0 || text.length > 255 || isHost(text), {
    error: ({ input }) => `must be ${hostWords}, and is ${JSON.stringify(input)}`,
  });
