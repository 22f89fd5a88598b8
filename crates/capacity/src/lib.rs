//! How many clients a system of queues can take: service demands and mean value analysis (Cherkasova et al.
//! 2009, section 7; Reiser and Lavenberg 1980).
//!
//! Pure functions of numbers. Times are seconds, rates are per second, populations are clients.
