/** Programs that show the client at work. */
package io.loopguard.examples;
