# Writes the documentation of the classes and packs it. Run by a target of CMakeLists.txt, which sets JAVADOC, JAR, SOURCES,
# FOLDER and OUTPUT.
file(REMOVE_RECURSE ${FOLDER})
file(GLOB_RECURSE sources ${SOURCES}/*.java)
execute_process(COMMAND ${JAVADOC} -quiet --release 17 -Xdoclint:all -Werror -encoding UTF-8 -notimestamp
                        -windowtitle halftone -d ${FOLDER} ${sources}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${JAR} cf ${OUTPUT} -C ${FOLDER} . COMMAND_ERROR_IS_FATAL ANY)
