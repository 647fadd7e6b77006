/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-keeper as a program: for pools, and where the front was started without the launcher. */
#include "keeper/keeper.h"

int main(int argc, char **argv)
{
	return keeper_main(argc, argv);
}
